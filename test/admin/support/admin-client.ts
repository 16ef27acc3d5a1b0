/** What came back, whatever it is. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests say what they expect of it
  readonly body: any;
}

/** A page of sagas. */
export interface Listed {
  readonly items: readonly { readonly id: string; readonly saga: string; readonly correlationId: string }[];
  readonly next?: string;
}

/** One saga. */
export interface Shown {
  readonly steps: readonly { readonly name: string; readonly result?: unknown; readonly items?: object[] }[];
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

  /** @param query of the list, without the question mark */
  async list(query = ''): Promise<Listed> {
    return (await this.get(`/api/sagas?${query}`)).body as Listed;
  }

  async one(id: string): Promise<Shown> {
    return (await this.get(`/api/sagas/${id}`)).body as Shown;
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
