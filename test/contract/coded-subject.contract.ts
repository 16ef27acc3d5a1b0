import { randomBytes } from 'node:crypto';
import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoreSubject } from './store-subject.contract.js';
import { AesGcmCodec } from '../../libs/saga/src/store/coded/aes-gcm-codec.js';
import { codedSagaStore } from '../../libs/saga/src/store/coded/coded-saga-store.js';
import { Coder } from '../../libs/saga/src/store/coded/coder.js';
import { convertMessage } from '../../libs/saga/src/store/coded/private-fields.js';

const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
export const old = new AesGcmCodec({ keys: { old: OLD }, current: 'old' });
export const both = new AesGcmCodec({ keys: { old: OLD, new: NEW }, current: 'new' });
export const coded = (store: SagaStore) => codedSagaStore(store, both);
export const plain = (store: SagaStore) => codedSagaStore(store, undefined);

/** Messages leave a coded store encoded: it is the relay that decodes them. */
export async function withOutbox<S extends StoreSubject>(subject: Promise<S>): Promise<S> {
  const made = await subject;
  const { decoding } = new Coder(both);
  const outbox = async () => (await made.outbox()).map((message) => convertMessage(message, decoding));
  return { ...made, outbox };
}
