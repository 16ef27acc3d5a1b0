import { clientOf, ServedFolder } from './support/served-folder.js';

const GREET = `
saga: greet
schedule: { cron: '0 0 1 1 *' }
steps:
  go: { waitFor: { signal: go } }
`;
const HOSTILE = ['a\0b', '\ud800', 'x'.repeat(5_000)];

/** What routes read of a query, and of a body. A route ignores, or refuses, what it does not know. */
const QUERIES = [
  ...[
    'saga',
    'status',
    'search',
    'tag',
    'createdAfter',
    'createdBefore',
    'endedAfter',
    'endedBefore',
    'step',
  ],
  ...['waitingFor', 'overdue', 'errorCode', 'limit', 'cursor', 'hours', 'wait'],
];
const FIELDS = [
  ...[
    'by',
    'reason',
    'comment',
    'step',
    'signal',
    'messageId',
    'payload',
    'result',
    'input',
    'saga',
    'correlationId',
  ],
  ...['tags', 'action', 'filter', 'status', 'at', 'unlessBegun', 'delay', 'priority', 'dryRun'],
];

interface Document {
  readonly paths: Record<string, Record<string, object>>;
}
interface Asked {
  readonly url: string;
  readonly body?: Record<string, unknown>;
}

let served: ServedFolder;
beforeEach(async () => void (served = await ServedFolder.create({ 'greet.yaml': GREET })));
afterEach(() => served.end());

/** A request of a route with a hostile text in each place in turn, and what is valid in all others. */
function requestsOf(path: string, method: string, valid: Record<string, string>): Asked[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const urlWith = (given: Record<string, string>, query = '') =>
    names.reduce((url, name) => url.replace(`{${name}}`, encoded(given[name]!)), path) + query;
  const more = (text: string): Asked[] =>
    method === 'post'
      ? FIELDS.flatMap((name) => {
          const inside = { [text]: text, saga: text, step: text, tags: { [text]: text } };
          return [text, inside].map((value) => ({
            url: urlWith(valid),
            body: { by: 'ann', step: 'go', [name]: value },
          }));
        })
      : QUERIES.flatMap((name) =>
          ['', 'key:'].map((key) => ({ url: urlWith(valid, `?${name}=${key}${encoded(text)}`) })),
        );
  return HOSTILE.flatMap((text) => [
    ...names.map((name) => ({ url: urlWith({ ...valid, [name]: text }), body: { by: 'ann', step: 'go' } })),
    ...more(text),
  ]);
}

/** Half of a surrogate pair has no encoding: its bytes are sent as they would be. */
function encoded(text: string): string {
  return text === '\ud800' ? '%ED%A0%80' : encodeURIComponent(text);
}

async function statusOf(address: string, method: string, { url, body }: Asked): Promise<number> {
  const isPost = method === 'post';
  const answer = await fetch(`${address}${url}`, {
    method: method.toUpperCase(),
    // A connection that is kept may be closed by its idle server while the next request is on its way.
    headers: {
      ...{ 'x-saga-admin': '1', connection: 'close' },
      ...(isPost && { 'content-type': 'application/json' }),
    },
    ...(isPost && { body: JSON.stringify(body) }),
  });
  // A stream of events does not end by itself.
  await answer.body?.cancel();
  return answer.status;
}

test('no text in a path, in a query or in a body makes a route fail', async () => {
  const daemon = await served.start();
  const document = (await (await fetch(`${daemon.address}/openapi.json`)).json()) as Document;
  const failed: string[] = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods)) {
      const { body } = await clientOf(daemon).post('/api/sagas', { saga: 'greet', input: {} });
      const valid = { id: body.id as string, saga: 'greet', step: 'go', version: '1', name: 'app.js' };
      const asked = requestsOf(path, method, valid);
      const statuses = await Promise.all(asked.map((one) => statusOf(daemon.address, method, one)));
      asked.forEach(({ url, body: sent }, n) => {
        if (statuses[n]! >= 500)
          failed.push(`${statuses[n]} ${method} ${url} ${JSON.stringify(sent)}`.slice(0, 150));
      });
    }
  expect(failed).toEqual([]);
});
