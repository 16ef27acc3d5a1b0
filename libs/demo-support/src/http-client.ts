/** What a value is after it went through JSON. */
export type Json<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

/** What a service answered, if not 2xx. */
export class HttpError extends Error {
  override readonly name = 'HttpError';

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A running service, as its callers see it. */
export abstract class HttpClient {
  constructor(readonly url: string) {}

  /** @throws HttpError when it is not answered with 2xx; TypeError when it is not answered */
  protected async send<T>(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<T> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const { ok, status } = response;
    if (!ok) throw new HttpError(status, `${method} ${path} was answered with ${status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}
