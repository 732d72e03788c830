() => {
  const languageLinks = () => document.querySelectorAll("a.language").forEach((link) => {
    link.search = window.location.search;
  });
  window.rememberView = (query) => {
    const kept = new URLSearchParams(window.location.search);
    const next = new URLSearchParams(query);
    if (kept.has("__theme")) next.set("__theme", kept.get("__theme"));
    const text = next.toString();
    history.replaceState(null, "", text ? `?${text}` : window.location.pathname);
    languageLinks();
  };
  window.saveText = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };
}
