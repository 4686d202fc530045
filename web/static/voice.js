// The page Voice: records a moment of the microphone, plays a voice, and says something at a satellite, without leaving.
import { t } from "./texts.js";
import { toast } from "./ui.js";

const RECORDS_MS = 4_000;
const ear = document.getElementById("try-ear");
const voice = document.getElementById("try-voice");
const satellite = document.getElementById("try-satellite");
const microphone = isSecureContext && navigator.mediaDevices?.getUserMedia;

async function post(form, body, type = "application/json", query = {}) {
  const response = await fetch(`${form.action}?${new URLSearchParams(query)}`, { method: "POST", body, headers: { Accept: "application/json, audio/wav", "Content-Type": type } });
  if (response.ok) return response;
  throw new Error((await response.json().catch(() => ({}))).error?.message || t("The hub cannot be reached right now."));
}

function acts(form, act) {
  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      await act(form);
    } catch (error) {
      toast(error.message);
    } finally {
      button.disabled = false;
    }
  });
}

async function record(sound, stream, meter) {
  await sound.audioWorklet.addModule("/talk/microphone.js");
  const pieces = [];
  const node = new AudioWorkletNode(sound, "microphone");
  node.port.onmessage = ({ data }) => {
    pieces.push(data.samples);
    meter.value = Math.min(1, Math.sqrt(data.level) * 2);
  };
  sound.createMediaStreamSource(stream).connect(node);
  await sound.resume();
  await new Promise((resolve) => setTimeout(resolve, RECORDS_MS));
  return new Blob(pieces);
}

acts(ear, async () => {
  const [said, meter] = [ear.querySelector("output"), ear.querySelector("meter")];
  if (!microphone) {
    said.textContent = t("Browsers give the microphone only to pages with https, and to those of the machine itself.");
    return;
  }
  const sound = new AudioContext();
  let stream;
  try {
    stream = await microphone.call(navigator.mediaDevices, { audio: true }).catch(() => { throw new Error(t("The browser does not give this page the microphone.")); });
    said.textContent = t("Speak now…");
    meter.hidden = false;
    const heard = await record(sound, stream, meter);
    said.textContent = t("Understanding…");
    const engine = ear.elements.engine?.value;
    const { text, ms } = await (await post(ear, heard, "application/octet-stream", engine ? { engine } : {})).json();
    said.textContent = text ? t("“{text}”, in {seconds} s", { text, seconds: (ms / 1_000).toFixed(1) }) : t("No words were heard.");
  } catch (error) {
    said.textContent = error.message;
  } finally {
    meter.hidden = true;
    stream?.getTracks().forEach((track) => track.stop());
    sound.close();
  }
});

acts(voice, async () => {
  const sound = new AudioContext();
  const data = await (await post(voice, JSON.stringify({ text: voice.elements.text.value, engine: voice.elements.engine?.value ?? "" }))).arrayBuffer();
  const source = new AudioBufferSourceNode(sound, { buffer: await sound.decodeAudioData(data) });
  source.connect(sound.destination);
  source.onended = () => sound.close();
  source.start();
  toast(t("Speaking"));
});

acts(satellite, async () => {
  const { text, satellite: where } = satellite.elements;
  const { whole } = await (await post(satellite, JSON.stringify({ text: text.value, satellite: where.value }))).json();
  toast(whole ? t("It was said.") : t("It was broken off."));
  text.value = "";
});
