// The link's code stands behind the #, which no server and no link preview sees; this page posts it itself, once.
function useLink() {
  const code = decodeURIComponent(location.hash.slice(1));
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  document.getElementById("code").value = code;
  document.getElementById("login-form").requestSubmit();
}

addEventListener("hashchange", useLink); // a link pasted while this page is open already
useLink();
