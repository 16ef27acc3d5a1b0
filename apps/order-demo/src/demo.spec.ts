import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { restateProgram } from '../../../libs/demo-support/src/restate/restate-server.js';
import { ORM_NAMES } from './orm/orm.js';

const run = promisify(execFile);
const PLAYER = fileURLToPath(new URL('../dist/demo/play.js', import.meta.url));

/** Plays the demo, as `npm run demo -- --orm=…` does. @returns what it printed */
function play(...args: string[]): Promise<string> {
  return playWith({ NODE_OPTIONS: '' }, ...args);
}

async function playWith(given: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  const { SAGA_ORM: _, ...inherited } = process.env;
  const env = { ...inherited, DATABASE_URL: process.env.TEST_DATABASE_URL, ...given };
  const { stdout, stderr } = await run(process.execPath, [PLAYER, ...args], { env }).catch(
    (error: { stdout: string; stderr: string }) => error,
  );
  return stdout + stderr;
}

/** What Node 20 lacks, and the SDK of Restate uses. */
const MISSING = new URL('../../../test/support/with-resolvers.mjs', import.meta.url).href;
const testWithRestate = restateProgram() ? test : test.skip;

describe('npm run demo', () => {
  testWithRestate(
    'plays all stories with the sagas on Restate',
    async () => {
      const said = await playWith({ NODE_OPTIONS: `--import ${MISSING}` }, '--engine=restate');
      expect(said).toContain('a database, Restate, the API');
      expect(said).toMatch(/Every claim holds/);
    },
    240_000,
  );

  test('plays all stories with the sagas and orders on another database layer than TypeORM', async () => {
    const said = await play('--orm=kysely');
    expect(said).toContain('with kysely');
    expect(said).toMatch(/Every claim holds/);
  }, 120_000);

  test('refuses a layer that it does not have, and an option that it does not know', async () => {
    expect(await play('--orm=sequelize')).toContain(`'sequelize'; give ${ORM_NAMES.join(', ')}`);
    expect(await play('--engine=mysql')).toContain(`'mysql'; give postgres or restate`);
    expect(await play('--nodes=3')).toContain('--nodes is 3; give --engine=restate with it');
    expect(await play('--database=pg')).toContain(`Unknown option '--database'`);
  });
});
