/** The base URL of the REST routes, relative to this page. */
const BASE = new URL('../../api/', import.meta.url);

/** An error response: its status, its stable code and its message. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @param query omits undefined and empty values, and repeats the name for arrays */
export function get(path, query = {}, signal = undefined) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) if (one !== undefined && one !== '') url.searchParams.append(name, one);
  return send(url, { signal });
}

/**
 * Receives server-sent events while the page is visible, until the signal aborts.
 * @param {(data: any) => void} receive is called with the data of each event
 * @returns {() => boolean} whether the connection is open
 */
export function events(path, receive, signal) {
  let source;
  const close = () => source?.close();
  const open = () => {
    close();
    if (document.hidden || signal.aborted) return;
    source = new EventSource(new URL(path, BASE), { withCredentials: true });
    source.onmessage = ({ data }) => receive(JSON.parse(data));
  };
  document.addEventListener('visibilitychange', open, { signal });
  signal.addEventListener('abort', close);
  open();
  return () => source?.readyState === EventSource.OPEN;
}

export function post(path, body) {
  return send(new URL(path, BASE), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-saga-admin': '1' },
    body: JSON.stringify(body),
  });
}

async function send(url, request) {
  let answer;
  try {
    answer = await fetch(url, { credentials: 'same-origin', redirect: 'manual', ...request });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The application cannot be reached.');
  }
  if (answer.type === 'opaqueredirect') throw new ApiError(401, '', 'Reload this page to log in.');
  const body = await answer.json().catch(() => undefined);
  if (answer.ok && body !== undefined) return body;
  throw new ApiError(
    answer.status,
    body?.code ?? '',
    body?.message ?? `The response status was ${answer.status}.`,
  );
}
