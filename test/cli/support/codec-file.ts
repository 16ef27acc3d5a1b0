import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AesGcmCodec } from '../../../libs/saga/src/encryption.js';

/** Node finds the package from here. */
const DIST = fileURLToPath(new URL('../dist', import.meta.url));

/** A codec, and a compiled file that has the same one for the command line. To be made at the top of a spec. */
export class CodecFile {
  private readonly key = randomBytes(32);
  readonly codec = new AesGcmCodec({ keys: { k: this.key }, current: 'k' });
  folder = '';

  constructor() {
    beforeAll(async () => {
      await mkdir(DIST, { recursive: true });
      this.folder = await mkdtemp(join(DIST, 'cli-'));
      await writeFile(
        this.path,
        `import { AesGcmCodec } from 'nestjs-durable-saga/encryption';
         export default async () =>
           new AesGcmCodec({ keys: { k: Buffer.from('${this.key.toString('base64')}', 'base64') }, current: 'k' });`,
      );
    });
    afterAll(() => rm(this.folder, { recursive: true }));
  }

  get path(): string {
    return join(this.folder, 'codec.mjs');
  }
}
