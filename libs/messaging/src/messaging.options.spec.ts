import { SagaConfigurationError } from '../../saga/src/errors.js';
import { type SagaMessagingModuleOptions, withMessagingDefaults } from './messaging.options.js';

const throwing = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('no entry');
    },
  },
);
const transport = { send: () => Promise.resolve() };

function refusal(options: unknown): string {
  try {
    withMessagingDefaults(options as SagaMessagingModuleOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(SagaConfigurationError);
    return (error as Error).message;
  }
  return 'accepted';
}

test('a transport is all that has to be given', () => {
  expect(withMessagingDefaults({ transport })).toMatchObject({
    ...{ schema: 'saga', migrate: true, maxPayloadBytes: 2 ** 20, inboxRetention: 14 * 86_400_000 },
    relay: { transport, batch: 1_000, lease: 30_000, pollInterval: 1_000, retry: { attempts: 10 } },
  });
});

test('an application that sends nothing needs no transport', () => {
  expect(withMessagingDefaults({ relay: false, outbox: { retention: '1d' } })).toMatchObject({
    outboxRetention: 86_400_000,
  });
});

test('all problems are reported in one error, each with the value and the fix', () => {
  const message = refusal({
    schema: 'Saga',
    migrate: 'yes',
    client: {},
    relay: { batch: 0, lease: '1 minute', retry: { attempts: -1 }, lanes: 3 },
    outbox: { retention: '1d' },
    inbox: { retention: 0 },
    unknown: 1,
  });
  for (const part of [
    /schema is 'Saga'.*give a lower-case name/,
    /migrate is 'yes'; give true or false/,
    /client is \{\}; give a ClientProxy/,
    /relay\.?batch is 0; give a whole number/,
    /relay\.lease: '1 minute' is not a duration; give milliseconds/,
    /relay\.retry\.attempts is -1; give/,
    /unknown option 'relay\.lanes'/,
    /outbox\.retention is set.*relay: false/,
    /inbox\.retention is 0; give at least 1 ms/,
    /unknown option 'unknown'/,
  ])
    expect(message).toMatch(part);
});

test.each<[string, unknown, RegExp]>([
  ['no transport', {}, /no transport; give client or transport, or relay: false/],
  ['two', { transport, client: { emit: () => undefined } }, /both transport and client are set/],
  ['a transport that cannot send', { transport: 'amqp://' }, /transport is 'amqp:\/\/'; give an object/],
  ['nothing that can be read', null, /options are null; give an object/],
  ['a proxy that throws', throwing, /could not be read/],
  ['a retryIf', { transport, relay: { retry: { retryIf: () => true } } }, /retryIf/],
])('%s is refused', (_, options, expected) => expect(refusal(options)).toMatch(expected));

test('shards are named databases, in the place of one', () => {
  expect(refusal({ transport, shards: { eu: 'eu', us: 'us' }, dataSource: 'eu' })).toContain(
    'shards and dataSource are both set; set only one of them',
  );
  expect(refusal({ transport, shards: { eu: 'eu', us: 'eu' } })).toContain(
    'shards.eu and shards.us are the same database',
  );
  expect(refusal({ transport, shards: { eu: 'eu', us: 'us' } })).toBe('accepted');
});
