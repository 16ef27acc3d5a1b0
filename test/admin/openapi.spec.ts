import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '../support/test-database.js';

const run = promisify(execFile);

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, { readonly properties: object }> };
}
interface Operation {
  readonly summary: string;
  readonly tags: string[];
  readonly parameters: { readonly name: string; readonly in: string }[];
  readonly responses: Record<string, object>;
  readonly requestBody?: object;
}

let document: Document;

beforeAll(async () => {
  document = (await outputOf('openapi.mjs')) as Document;
});

test('every route is described where it is served, and the dashboard’s files are not', () => {
  const actions = [
    'cancel',
    'abort',
    'undo',
    'pause',
    'resume',
    'retry',
    'retryNow',
    'resolve',
    'abandon',
    'reschedule',
    'signal',
    'approve',
    'reject',
  ];
  expect(Object.keys(document.paths).sort()).toEqual(
    [
      ...['sagas', 'sagas/{id}', 'sagas/{id}/history', 'sagas/{id}/rollback', 'sagas/{id}/graph'],
      'sagas/{id}/events',
      ...actions.map((action) => `sagas/{id}/${action}`),
      ...['pause', 'resume', 'trigger'].map((action) => `schedules/{saga}/${action}`),
      ...['pause', 'resume'].map((action) => `paused-steps/{saga}/{step}/${action}`),
      'paused-steps',
      ...['bulk', 'definitions', 'context', 'stats', 'rates', 'schedules', 'tasks'],
    ]
      .map((path) => `/internal/ops/sagas/api/${path}`)
      .sort(),
  );
});

test('each says what it does, what it takes, what it answers, and how it fails', () => {
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      expect(operation).toMatchObject({ summary: expect.stringMatching(/\w/), tags: ['saga admin'] });
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['200', '403', '503']));
      expect([path, operation.requestBody !== undefined]).toEqual([path, method === 'post']);
      if (method === 'post')
        expect(operation.parameters).toContainEqual(
          expect.objectContaining({ name: 'x-saga-admin', in: 'header' }),
        );
    }
  const list = document.paths['/internal/ops/sagas/api/sagas']!.get!;
  expect(list.parameters.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['saga', 'status', 'search', 'tag', 'limit', 'cursor']),
  );
  expect(Object.keys(document.components.schemas.SagaDto!.properties)).toEqual(
    expect.arrayContaining([
      'id',
      'status',
      'steps',
      'waitingFor',
      'waitsFor',
      'timeline',
      'payloads',
      'actions',
    ]),
  );
});

test('where @nestjs/swagger is not installed, everything else works; also for CommonJS', async () => {
  expect(await outputOf('without-swagger.mjs')).toEqual({
    '': 200,
    '/api/sagas': 200,
    '/api/definitions': 200,
  });
});

/** What a program of an application says on a database of its own. */
async function outputOf(name: string): Promise<unknown> {
  const database = await createTestDatabase();
  try {
    const program = fileURLToPath(new URL(`programs/${name}`, import.meta.url));
    const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url };
    const { stdout } = await run(process.execPath, [program], { env, maxBuffer: 2 ** 24 });
    return JSON.parse(stdout);
  } finally {
    await database.drop();
  }
}
