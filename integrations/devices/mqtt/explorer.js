// The page MQTT: asks for messages again and again, and publishes.
const ROWS = 200;
const WAIT_S = 20;
const place = document.getElementById("mqtt-messages");
const listen = document.getElementById("mqtt-listen");
const publish = document.getElementById("mqtt-publish");
const { retained, zone } = document.getElementById("mqtt-explorer").dataset;
let turn = 0;

async function call(method, params) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("/api/rpc", { method: "POST", headers, body: JSON.stringify({ method, params }) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
  return answer.payload;
}

function show(message) {
  const row = place.insertRow(0);
  const texts = [
    new Date(message.time * 1000).toLocaleTimeString(undefined, { timeZone: zone }),
    message.topic,
    message.payload + (message.retain ? ` (${retained})` : ""),
  ];
  for (const text of texts) row.insertCell().textContent = text;
  while (place.rows.length > ROWS) place.deleteRow(-1);
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
      place.insertRow(0).insertCell().textContent = error.message;
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
