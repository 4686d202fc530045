// The page MQTT: asks for messages again and again, and publishes.
const ROWS = 200;
const WAIT_S = 20;
const place = document.getElementById("mqtt-messages");
const listen = document.getElementById("mqtt-listen");
const publish = document.getElementById("mqtt-publish");
const template = document.querySelector("#mqtt-explorer template");
const { zone } = document.getElementById("mqtt-explorer").dataset;
let turn = 0;

async function call(method, params) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("/api/rpc", { method: "POST", headers, body: JSON.stringify({ method, params }) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
  return answer.payload;
}

/** JSON is easier to read over several lines. */
function readable(payload) {
  try {
    const value = JSON.parse(payload);
    return value && typeof value === "object" ? JSON.stringify(value, null, 2) : payload;
  } catch { return payload; }
}

function show(message) {
  const row = template.content.firstElementChild.cloneNode(true);
  row.querySelector("b").textContent = message.topic;
  row.querySelector(".chip").hidden = !message.retain;
  const at = new Date(message.time * 1000);
  row.querySelector("time").textContent = at.toLocaleTimeString(document.documentElement.lang, { timeZone: zone, hourCycle: "h23" });
  row.querySelector("pre").textContent = readable(message.payload);
  place.prepend(row);
  while (place.children.length > ROWS) place.lastElementChild.remove();
}

async function follow(topic) {
  const mine = ++turn;
  let after = 0;
  place.replaceChildren();
  while (mine === turn) {
    try {
      const answer = await call("mqtt.messages", { topic, after, wait: WAIT_S });
      if (mine !== turn) return;
      answer.messages.forEach(show);
      after = answer.last;
    } catch (error) {
      const row = document.createElement("li");
      row.className = "danger";
      row.textContent = error.message;
      place.prepend(row);
      await new Promise((done) => setTimeout(done, 5000));
    }
  }
}

listen.addEventListener("submit", (event) => {
  event.preventDefault();
  follow(new FormData(listen).get("topic"));
});

publish.addEventListener("submit", async (event) => {
  event.preventDefault();
  const fields = new FormData(publish);
  const status = publish.querySelector("[role=status]");
  try {
    await call("mqtt.publish", {
      topic: fields.get("topic"),
      payload: fields.get("payload"),
      retain: fields.has("retain"),
    });
    status.textContent = publish.dataset.done;
  } catch (error) {
    status.textContent = `${publish.dataset.failed} ${error.message}`;
  }
});

follow("#");
