// What the phone tells by itself while the page is open: where it is, and its battery. And the lock that keeps it open.
const REST_MS = 60_000;
const FAR_M = 50;
const METRES_A_DEGREE = 111_320;

function metres(from, to) {
  const north = (to.latitude - from.latitude) * METRES_A_DEGREE;
  const east = (to.longitude - from.longitude) * METRES_A_DEGREE * Math.cos((from.latitude * Math.PI) / 180);
  return Math.hypot(north, east);
}

// Sends until the returned function is called; `send(data)` hands it to the hub. What did not arrive is told the next time.
export function watch(send) {
  let told = {at: -Infinity};
  let battery;
  const power = () => (battery ? {battery: Math.round(battery.level * 100), charging: battery.charging} : {});
  const place = ({coords, timestamp}) => {
    if (timestamp - told.at < REST_MS && metres(told.coords, coords) < FAR_M) {
      return;
    }
    const {latitude, longitude, accuracy, altitude, speed} = coords;
    send({lat: latitude, lon: longitude, accuracyMeters: accuracy, altitudeMeters: altitude, speedMps: speed, ...power()}).then(
      () => (told = {at: timestamp, coords}),
      () => null,
    );
  };
  const changed = () => send(power()).catch(() => null);
  const watching = navigator.geolocation.watchPosition(place, () => null, {enableHighAccuracy: false});
  navigator.getBattery?.().then(found => {
    battery = found;
    changed();
    ["levelchange", "chargingchange"].forEach(name => battery.addEventListener(name, changed));
  });
  return () => {
    navigator.geolocation.clearWatch(watching);
    ["levelchange", "chargingchange"].forEach(name => battery?.removeEventListener(name, changed));
  };
}

// Keeps the screen on while the page is seen and the phone is charged; a browser that does not tell that is taken to be.
let lock;
export async function stayAwake(wanted) {
  const battery = await navigator.getBattery?.();
  const may = wanted() && document.visibilityState === "visible" && battery?.charging !== false;
  if (!may) {
    lock?.release();
    lock = undefined;
  } else if (!lock || lock.released) {
    lock = await navigator.wakeLock.request("screen").catch(() => undefined);
  }
  document.documentElement.toggleAttribute("data-awake", Boolean(lock && !lock.released));
}

export async function keepAwake(wanted) {
  const again = () => stayAwake(wanted);
  document.addEventListener("visibilitychange", again);
  (await navigator.getBattery?.())?.addEventListener("chargingchange", again);
  await again();
}
