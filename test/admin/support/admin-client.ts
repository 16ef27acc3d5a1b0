/** What came back, whatever it is. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests say what they expect of it
  readonly body: any;
}

/** The admin as a program uses it: over HTTP. */
export class AdminClient {
  constructor(
    readonly base: string,
    private readonly headers: Record<string, string> = {},
  ) {}

  as(headers: Record<string, string>): AdminClient {
    return new AdminClient(this.base, { ...this.headers, ...headers });
  }

  get(path: string): Promise<Answer> {
    return this.send(path, { headers: this.headers });
  }

  /** As the dashboard does. */
  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-saga-admin': '1', ...this.headers, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  private async send(path: string, request: RequestInit): Promise<Answer> {
    const answer = await fetch(`${this.base}${path}`, request);
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
    return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text };
  }
}
