// Signs an owner in, and asks whether an app may use the home; the app gets a code at its own address.
const texts = JSON.parse(document.documentElement.dataset.texts);
const at = id => document.getElementById(id);
const asked = new URLSearchParams(location.search);
const {state, password} = document.body.dataset;

at(state).hidden = false;
at("ask-title").textContent = texts.ask_title.replace("{app}", document.documentElement.dataset.app);
if (password) {
  at("secret-label").textContent = texts.code_or_password;
}

async function post(path, body) {
  const answer = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  const said = await answer.json();
  if (!answer.ok) {
    throw new Error(said.error?.message || `HTTP ${answer.status}`);
  }
  return said;
}

at("signin").addEventListener("submit", async event => {
  event.preventDefault();
  const secret = at("secret").value.trim();
  const isCode = !password || /^[2-9A-HJ-NP-Za-hj-np-z]{5}-?[2-9A-HJ-NP-Za-hj-np-z]{5}$/.test(secret);
  try {
    await post("/api/login", isCode ? {code: secret} : {password: secret});
    location.reload();
  } catch (error) {
    at("told").textContent = error.message;
  }
});

at("ask").addEventListener("submit", async event => {
  event.preventDefault();
  const body = {client_id: asked.get("client_id"), redirect_uri: asked.get("redirect_uri"), state: asked.get("state") || "", admin: at("admin").checked};
  try {
    location.href = (await post("/auth/authorize", body)).url;
  } catch (error) {
    at("told").textContent = error.message;
  }
});

at("not").addEventListener("click", () => {
  at("ask").hidden = true;
  at("told").textContent = texts.denied;
});
document.documentElement.setAttribute("data-ready", "");
