// API addresses for a page served by `attnscope serve`.

/** Path of an API request. A server that listens on other interfaces requires the token in the page's address. */
export function api_path(path: string, query: Record<string, string> = {}): string {
  const token = new URLSearchParams(location.search).get("token");
  const all = new URLSearchParams({ ...query, ...(token ? { token } : {}) }).toString();
  return all ? `${path}?${all}` : path;
}
