// The link's code stands behind the #, which no server and no link preview sees; this page posts it itself, once.
const code = decodeURIComponent(location.hash.slice(1));
if (code) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("code").value = code;
  document.getElementById("login-form").requestSubmit();
}
