// Connects this browser with a hub: its address, and a setup code that lets one browser in.
import {isOpen, pair, readAddress, readCode, settings, Trouble} from "./hub.js";
import {fill, say} from "./texts.js";

const form = document.getElementById("pair");
const {code, address, profile} = form.elements;
const error = document.getElementById("error");

fill(document);
await show();

code.addEventListener("input", () => {
  try {
    address.value = readCode(code.value).url;
  } catch {
    return; // It is not all there yet.
  }
  warn();
});
address.addEventListener("input", warn);

form.addEventListener("submit", async event => {
  event.preventDefault();
  error.textContent = "";
  try {
    await pair(readAddress(address.value), code.value, profile.value.trim());
    code.value = "";
    await show();
  } catch (trouble) {
    const known = trouble instanceof Trouble;
    error.textContent = [say({name: known ? trouble.message : "failed"}), known ? trouble.detail : trouble.message]
      .filter(Boolean).join(" ");
  }
});

document.getElementById("forget").addEventListener("click", async () => {
  await chrome.storage.local.remove("token");
  await show();
});

async function show() {
  const kept = await settings();
  address.value = kept.address;
  profile.value = kept.profile;
  const text = kept.token ? chrome.i18n.getMessage("connected", kept.address) : chrome.i18n.getMessage("not_connected");
  document.getElementById("state").textContent = text;
  document.getElementById("forget").hidden = !kept.token;
  warn();
}

function warn() {
  try {
    document.getElementById("open").hidden = !isOpen(readAddress(address.value));
  } catch {
    document.getElementById("open").hidden = true;
  }
}
