() => {
  const languageLinks = () => document.querySelectorAll("a.language").forEach((link) => {
    link.search = window.location.search;
  });
  window.rememberView = (query) => {
    const kept = new URLSearchParams(window.location.search);
    const next = new URLSearchParams(query);
    for (const name of ["__theme", "tab"]) if (kept.has(name) && !next.has(name)) next.set(name, kept.get(name));
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
  window.rememberPage = (page) => {
    const next = new URLSearchParams(window.location.search);
    if (page === "leaderboard") next.delete("tab"); else next.set("tab", page);
    const text = next.toString();
    history.replaceState(null, "", text ? `?${text}` : window.location.pathname);
    languageLinks();
  };
}
