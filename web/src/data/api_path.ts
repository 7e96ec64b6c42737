// Where a page that `attnscope serve` has served asks its server.

/** A path of the server. One that listens beyond this computer wants the token that the page's own address holds. */
export function api_path(path: string, query: Record<string, string> = {}): string {
  const token = new URLSearchParams(location.search).get("token");
  const all = new URLSearchParams({ ...query, ...(token ? { token } : {}) }).toString();
  return all ? `${path}?${all}` : path;
}
