import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ORM_NAMES } from './orm/orm.js';

const run = promisify(execFile);
const PLAYER = fileURLToPath(new URL('../dist/demo/play.js', import.meta.url));

/** Plays the demo, as `npm run demo -- --orm=…` does. @returns what it printed */
async function play(...args: string[]): Promise<string> {
  const { SAGA_ORM: _, ...inherited } = process.env;
  const env = { ...inherited, NODE_OPTIONS: '', DATABASE_URL: process.env.TEST_DATABASE_URL };
  const { stdout, stderr } = await run(process.execPath, [PLAYER, ...args], { env }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

describe('npm run demo', () => {
  test('plays all stories with the sagas and orders on another database layer than TypeORM', async () => {
    const said = await play('--orm=kysely');
    expect(said).toContain('with kysely');
    expect(said).toMatch(/Every claim holds/);
  }, 120_000);

  test('refuses a layer that it does not have, and an option that it does not know', async () => {
    expect(await play('--orm=sequelize')).toContain(`'sequelize'; give ${ORM_NAMES.join(', ')}`);
    expect(await play('--database=pg')).toContain(`Unknown option '--database'`);
  });
});
