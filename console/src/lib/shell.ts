// Quoting for commands that people copy into a shell. Selectors and names come from agents and from the address bar,
// so a word that is not plainly harmless is always quoted.

/** The word in single quotes unless it needs none. */
export function shellQuote(word: string): string {
  if (/^[A-Za-z0-9_.:/@%+=,][A-Za-z0-9_.:/@%+=,-]*$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A curl line for a GET of the API. */
export function curl(origin: string, path: string): string {
  return `curl -H "Authorization: Bearer $MUSTER_TOKEN" ${shellQuote(origin + path)}`;
}
