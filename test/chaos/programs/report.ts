/** What a program tells the test that started it. */
export interface Report {
  readonly type: string;
  readonly [key: string]: unknown;
}

export function report(message: Report): void {
  process.send?.(message);
}

/** Until the process is killed. */
export function holdForEver(): Promise<never> {
  return new Promise(() => setInterval(() => undefined, 60_000));
}
