/** Encoding of what sagas store: `nestjs-durable-saga/encryption`. */
export type { PayloadCodec, PayloadContext } from './store/coded/payload-codec.js';
export { AesGcmCodec, type AesGcmCodecOptions } from './store/coded/aes-gcm-codec.js';
