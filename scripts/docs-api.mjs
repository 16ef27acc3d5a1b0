/** `npm run docs:api`: writes docs/reference, the core first, whose run empties the folder. */
import { spawnSync } from 'node:child_process';
import { IMPORTED } from '../rooms.mjs';

for (const name of IMPORTED) {
  const env = { ...process.env, DOCUMENTED: name };
  const { status } = spawnSync('npx', ['typedoc'], { env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
