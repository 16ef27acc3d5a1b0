import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoredMessage } from '../../libs/saga/src/engine/ports/checkpoint.js';
import { codedSagaStore } from '../../libs/saga/src/store/coded/coded-saga-store.js';
import type { MemorySagaStore } from '../../libs/saga/src/store/memory/memory-saga-store.js';
import type { PayloadCodec } from '../../libs/saga/src/store/coded/payload-codec.js';
import type { Rng } from './rng.js';

/** The name of the codec, to be left out of scenarios that are older. */
export const CODEC = 'codec';

/** What users give: results, messages of errors, inputs, details of heartbeats, and what is sent. */
const CLEAR = / #\d|not now|the line broke|\\*"(of|comment)\\*":/;

const BASE64: PayloadCodec = {
  encode: (text) => `coded ${Buffer.from(text).toString('base64')}`,
  decode: (encoded) => Buffer.from(encoded.slice('coded '.length), 'base64').toString(),
};

/** In one of ten scenarios there is a codec. */
export function hasCodec(chance: Rng, isLeftOut: (name: string) => boolean): boolean {
  return chance.for(CODEC).happens(0.1) && !isLeftOut(CODEC);
}

export function codedStore(store: SagaStore): SagaStore {
  return codedSagaStore(store, BASE64);
}

/** What a store has in clear, of all sagas. */
export async function clearTextsIn(store: MemorySagaStore): Promise<string[]> {
  const found = (what: string, stored: unknown): string[] => {
    const clear = CLEAR.exec(JSON.stringify(stored, listed));
    return clear ? [`${what} has ${clear.input.slice(Math.max(0, clear.index - 60), clear.index + 20)}`] : [];
  };
  const sagas = await store.find({ limit: Infinity });
  const texts = await Promise.all(
    sagas.map(async ({ id }) => {
      const parts = [store.load({ id }), store.history(id, Infinity), store.pendingSignals(id)] as const;
      return found(id, await Promise.all(parts));
    }),
  );
  return [...texts.flat(), ...found('the outbox', store.outbox)];
}

export function decodedMessage(message: StoredMessage): StoredMessage {
  return { ...message, payload: BASE64.decode(message.payload, { kind: 'message', messageId: message.id }) };
}

function listed(_: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}
