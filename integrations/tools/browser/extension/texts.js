// The sentences of _locales, in the language of the browser.
export function fill(root) {
  document.documentElement.lang = chrome.i18n.getUILanguage();
  document.title = chrome.i18n.getMessage("name");
  root.querySelectorAll("[data-text]").forEach(each => {
    each.textContent = chrome.i18n.getMessage(each.dataset.text);
  });
}

// What is wrong, in words; without a name it is nothing that was foreseen.
export const say = trouble =>
  trouble ? chrome.i18n.getMessage(trouble.name) || chrome.i18n.getMessage("failed") : "";
