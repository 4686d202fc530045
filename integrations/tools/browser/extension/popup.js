// Says why a tab was not handed over; the next press of the button tries again.
import {fill, say} from "./texts.js";

fill(document);
const {trouble} = await chrome.storage.session.get("trouble");
document.getElementById("why").textContent = say(trouble);
document.getElementById("detail").textContent = trouble?.detail ?? "";
document.getElementById("options").addEventListener("click", () => chrome.runtime.openOptionsPage());
if (trouble) {
  const {tabId} = trouble;
  await chrome.action.setPopup({tabId, popup: ""}).catch(() => {});
  await chrome.action.setBadgeText({tabId, text: ""}).catch(() => {});
}
