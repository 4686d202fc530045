// What this phone does when it is asked: each command as the protocol names it, only while its switch is on.
const PICTURE_CHARS = 5_000_000;
const CLIP_LIMIT_MS = 60_000;
const FILM_BYTES = 12 * 1024 * 1024;
const FILM_PART_MS = 200;
const FIRST_PICTURE_MS = 10_000;
const SCREEN_ANSWER_MS = 45_000;
const CLIP_TYPES = {"video/mp4": "mp4", "video/webm": "webm"};

export class CommandFailed extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const number = (value, otherwise, low, high) => Math.min(Math.max(Number.isFinite(value) ? value : otherwise, low), high);
const wait = ms => new Promise(resolve => setTimeout(resolve, ms));

// `allowed(name)` says whether a switch is on, `canvas` shows things on the page, `notice(said)` a notification,
// `registration()` is the worker's, `tapped(limit)` waits until the person agrees to show a screen, which a browser permits
// after a press alone.
export function commandsOf({allowed, canvas, notice, registration, tapped}) {
  async function stream(params, audio) {
    if (!allowed("camera") || (audio && !allowed("microphone"))) {
      throw new CommandFailed(audio ? "MICROPHONE_PERMISSION_REQUIRED" : "CAMERA_PERMISSION_REQUIRED", "it is switched off on the phone");
    }
    if (globalThis.document?.visibilityState !== "visible") {
      throw new CommandFailed("NODE_BACKGROUND_UNAVAILABLE", "the page is not open on the phone");
    }
    const video = {width: {ideal: number(params.maxWidth, 1600, 16, 4096)}};
    if (params.deviceId) {
      video.deviceId = {exact: String(params.deviceId)};
    } else {
      video.facingMode = params.facing === "front" ? "user" : "environment";
    }
    try {
      return await navigator.mediaDevices.getUserMedia({video, audio});
    } catch (error) {
      const refused = error.name === "NotAllowedError";
      throw new CommandFailed(refused ? "CAMERA_PERMISSION_REQUIRED" : "CAMERA_UNAVAILABLE", error.message || error.name);
    }
  }

  async function snap(params) {
    const source = await stream(params, false);
    try {
      const video = document.createElement("video");
      video.muted = true;
      video.playsInline = true;
      video.srcObject = source;
      await video.play();
      await wait(number(params.delayMs, 0, 0, 10_000));
      const scale = Math.min(1, number(params.maxWidth, 1600, 16, 4096) / video.videoWidth);
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(video.videoWidth * scale);
      canvas.height = Math.round(video.videoHeight * scale);
      canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
      const base64 = canvas.toDataURL("image/jpeg", number(params.quality, 0.9, 0.05, 1)).split(",")[1];
      if (base64.length > PICTURE_CHARS) {
        throw new CommandFailed("PAYLOAD_TOO_LARGE", "the picture is larger than 5 MB; ask for a smaller maxWidth");
      }
      return {format: "jpg", base64, width: canvas.width, height: canvas.height};
    } finally {
      source.getTracks().forEach(track => track.stop());
    }
  }

  async function clip(params) {
    const audio = params.includeAudio !== false;
    const durationMs = number(params.durationMs, 3_000, 200, CLIP_LIMIT_MS);
    const source = await stream({maxWidth: 640, ...params}, audio);
    return {...(await film(source, durationMs)), hasAudio: audio};
  }

  async function screen(params) {
    if (globalThis.document?.visibilityState !== "visible") {
      throw new CommandFailed("NODE_BACKGROUND_UNAVAILABLE", "the page is not open");
    }
    const fps = number(params.fps, 10, 1, 60);
    await tapped(SCREEN_ANSWER_MS);
    let source;
    try {
      source = await navigator.mediaDevices.getDisplayMedia({video: {frameRate: {max: fps}}, audio: false});
    } catch (error) {
      throw new CommandFailed("SCREEN_RECORDING_PERMISSION_REQUIRED", error.message || error.name);
    }
    const taken = await film(source, number(params.durationMs, 10_000, 250, CLIP_LIMIT_MS));
    return {...taken, fps, screenIndex: 0, hasAudio: false};
  }

  // The person may end it earlier, by the browser's own button.
  async function film(source, durationMs) {
    try {
      const type = Object.keys(CLIP_TYPES).find(each => MediaRecorder.isTypeSupported(each));
      const recorder = new MediaRecorder(source, {mimeType: type});
      const parts = [];
      const ended = new Promise(resolve => recorder.addEventListener("stop", resolve));
      const begins = new Promise(resolve => {
        recorder.ondataavailable = event => parts.push(event.data) && event.data.size && resolve();
      });
      const begun = performance.now();
      recorder.start(FILM_PART_MS);
      await Promise.race([wait(durationMs), ended]);
      await Promise.race([begins, wait(FIRST_PICTURE_MS), ended]); // a busy machine shows its first picture late
      const lasted = Math.min(durationMs, Math.round(performance.now() - begun));
      if (recorder.state !== "inactive") {
        recorder.stop();
      }
      await ended;
      const whole = new Blob(parts);
      if (whole.size === 0) {
        throw new CommandFailed("UNAVAILABLE", "no picture came of it; try again");
      }
      if (whole.size > FILM_BYTES) {
        throw new CommandFailed("PAYLOAD_TOO_LARGE", `the film has ${whole.size} bytes; ask for a shorter durationMs`);
      }
      return {format: CLIP_TYPES[type], base64: await encoded(whole), durationMs: lasted};
    } finally {
      source.getTracks().forEach(track => track.stop());
    }
  }

  function place(params) {
    if (!allowed("location")) {
      throw new CommandFailed("LOCATION_PERMISSION_REQUIRED", "it is switched off on the phone");
    }
    const isPrecise = params.desiredAccuracy !== "coarse";
    const options = {
      enableHighAccuracy: isPrecise,
      timeout: number(params.timeoutMs, 10_000, 500, 60_000),
      maximumAge: number(params.maxAgeMs, 15_000, 0, 86_400_000),
    };
    const codes = {1: "LOCATION_PERMISSION_REQUIRED", 3: "LOCATION_TIMEOUT"};
    return new Promise((resolve, reject) =>
      navigator.geolocation.getCurrentPosition(
        ({coords, timestamp}) =>
          resolve({
            lat: coords.latitude,
            lon: coords.longitude,
            accuracyMeters: coords.accuracy,
            altitudeMeters: coords.altitude,
            speedMps: coords.speed,
            headingDeg: coords.heading,
            timestamp: new Date(timestamp).toISOString(),
            isPrecise,
            source: "browser",
          }),
        error => reject(new CommandFailed(codes[error.code] || "LOCATION_UNAVAILABLE", error.message)),
        options,
      ),
    );
  }

  async function notify(said) {
    if (!allowed("notifications") || Notification.permission === "denied") {
      throw new CommandFailed("NOTIFICATION_PERMISSION_REQUIRED", "they are not permitted on the phone");
    }
    notice(said);
    if (!said.clear) {
      const worker = await registration();
      await worker.showNotification(String(said.title || "Homarus"), self.noticeOptions(said));
    }
    return {};
  }

  async function status() {
    const battery = await navigator.getBattery?.();
    return {
      ...(battery ? {battery: {level: battery.level, state: battery.charging ? "charging" : "unplugged"}} : {}),
      network: {online: navigator.onLine, type: navigator.connection?.type || "unknown"},
      visible: globalThis.document?.visibilityState === "visible",
    };
  }

  return {
    "camera.list": async () => {
      const found = await navigator.mediaDevices.enumerateDevices();
      const cameras = found.filter(each => each.kind === "videoinput");
      return {devices: cameras.map((each, at) => ({id: each.deviceId, name: each.label || `camera ${at + 1}`}))};
    },
    "camera.snap": snap,
    "camera.clip": clip,
    ...(navigator.mediaDevices?.getDisplayMedia ? {"screen.record": screen} : {}),  // browsers of computers alone
    "location.get": async params => place(params),
    "system.notify": notify,
    "device.info": async () => ({
      deviceName: platform().family,
      systemName: platform().name,
      systemVersion: navigator.userAgent.slice(0, 200),
      locale: navigator.language,
    }),
    "device.status": status,
    "canvas.present": async params => canvas.show(params.url || params.target || ""),
    "canvas.navigate": async params => canvas.show(params.url || params.target || ""),
    "canvas.hide": async () => canvas.hide(),
    "canvas.eval": async ({javaScript}) => ({result: (await canvas.ask("eval", String(javaScript || ""))).value}),
    "canvas.snapshot": async () => {
      const {value, image} = await canvas.ask("snapshot");
      const base64 = image?.split(",")[1];
      return {text: value, ...(base64 ? {format: "png", base64} : {})};
    },
    "canvas.a2ui.push": async ({surfaces, files}) => canvas.draw(surfaces, files || ""),
    "canvas.a2ui.reset": async () => canvas.draw([], ""),
  };
}

export function platform() {
  const agent = navigator.userAgent;
  const known = [["android", "Android", /Android/], ["ios", "iPhone", /iPhone|iPad/], ["macos", "Mac", /Mac OS/], ["windows", "Windows", /Windows/]];
  const [name, family] = known.find(([, , form]) => form.test(agent)) || ["linux", "Linux"];
  return {name, family};
}

function encoded(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1]);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
