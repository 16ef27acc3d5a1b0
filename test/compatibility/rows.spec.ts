import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LAYER_PACKAGES } from '../../libs/saga/src/store/postgres/connection/layer-versions.js';
import { OTHER_VERSIONS } from './other-versions.mjs';
import { FITTING, NODES, QUICK, type Row, ROWS, SERVERS, SETS } from './rows.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const { peerDependencies, engines } = JSON.parse(read('libs/saga/package.json')) as {
  peerDependencies: Record<string, string>;
  engines: { node: string };
};

/** Why the lowest version of a range is not what is tried, and which is. */
const LOWEST_THAT_CAN_BE_INSTALLED: Record<string, string> = {
  // 12.0.0 of Nest asks for its own packages of version 11.
  '@nestjs/common@12.0.0': '12.0.1',
  '@nestjs/core@12.0.0': '12.0.1',
  // There is none.
  '@nestjs/microservices@12.0.0': '12.0.1',
  // Beside @nestjs/swagger 11.0.0, which asks for 11.0.1 of Nest.
  '@nestjs/microservices@11.0.0': '11.0.1',
};

/** These are tested in the versions that are developed with, and not from the packed package. */
const UNTRIED = [
  // Require a server that npm does not have. test/messaging uses one that is there.
  ...['@nats-io/jetstream', '@nats-io/transport-node'],
  // test/declared reads the metrics of a daemon.
  ...['@opentelemetry/exporter-prometheus', '@opentelemetry/sdk-metrics'],
];

/** The lowest versions of database layers, in the form of ranges. */
const layers = Object.fromEntries(
  Object.entries(LAYER_PACKAGES).map(([name, { lowest }]) => [
    name,
    lowest.map(({ version }) => version).join(' || '),
  ]),
);
const { dependencies } = JSON.parse(read('libs/declared/package.json')) as {
  dependencies: Record<string, string>;
};
/** What sagas in files need, of which an application may have a lower version than npm would choose. */
const declared = Object.fromEntries(
  ['ajv', 'jsonata', 'undici', 'yaml'].map((name) => [name, dependencies[name]!]),
);
const ranges: Record<string, string> = { ...peerDependencies, ...layers, ...FITTING, ...declared };

describe('the compatibility matrix', () => {
  test.each(Object.keys(ranges).filter((name) => !UNTRIED.includes(name)))(
    'tries the lowest versions that the range of %s lets in',
    (name) => {
      const tried = ROWS.map(({ set }) => SETS[set]![name]);
      for (const range of ranges[name]!.split(' || ')) {
        const lowest = range.replace('^', '');
        expect(tried).toContain(LOWEST_THAT_CAN_BE_INSTALLED[`${name}@${lowest}`] ?? lowest);
      }
    },
  );

  test.each(Object.keys(layers))(
    'any version of %s can be installed beside the library, and the page names the lowest that works',
    (name) => {
      expect(peerDependencies[name]).toBe('*');
      for (const { version } of LAYER_PACKAGES[name as keyof typeof LAYER_PACKAGES].lowest)
        expect(supported(name)).toContain(version.replace(/\.0$/, ''));
    },
  );

  test('leaves out of peerDependencies what npm would install in a version that does not fit', () => {
    for (const name of Object.keys(FITTING)) expect(peerDependencies).not.toHaveProperty([name]);
  });

  test('tries the versions that the library is developed with', () => {
    const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };
    for (const name of ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'typeorm', 'pg'])
      expect(`${name} ${SETS.nest12![name]}`).toBe(
        `${name} ${lock.packages[`node_modules/${name}`]!.version}`,
      );
  });

  test('tries the lowest Node of `engines`, and each version of Node and PostgreSQL in some row', () => {
    expect(Object.values(NODES)).toContain(`${engines.node.replace('>=', '')}.0`);
    for (const node of Object.keys(NODES)) expect(ROWS.map((row) => String(row.node))).toContain(node);
    for (const server of Object.keys(SERVERS))
      expect(ROWS.map((row) => String(row.postgres))).toContain(server);
  });

  test('is tried by `.ci/run` with the oldest and the newest versions, both formats of modules, and all database layers', () => {
    const quick = ROWS.filter(({ name }) => QUICK.includes(name));
    expect(quick.map(({ name }) => name).sort()).toEqual([...QUICK].sort());
    const valuesOf = (rows: readonly Row[], key: keyof Row) =>
      [...new Set(rows.map((row) => row[key]))].sort();
    for (const key of ['postgres', 'format'] as const)
      expect(valuesOf(quick, key)).toEqual(valuesOf(ROWS, key));
    const typeormOf = ({ set }: Row) => SETS[set]!.typeorm;
    expect(quick.map(typeormOf)).toEqual(
      expect.arrayContaining([layers.typeorm, SETS.nest12!.typeorm, undefined]),
    );
  });

  test('is what docs/compatibility.md shows', () => {
    const page = read('docs/compatibility.md')
      .split('\n')
      .filter((line) => /^\| `[\w-]+` +\|/.test(line))
      .map((line) => line.replace(/ +/g, ' ').trim());
    expect(page).toEqual(ROWS.map(lineOf));
  });

  test('shows on docs/compatibility.md what the library is installed beside, and what it refuses at an import', () => {
    const page = read('docs/compatibility.md')
      .split('\n')
      .flatMap(
        (line) =>
          /^\| `(\S+@\d\S*)` +\| (installs and imports|installs; .* says what is missing)/.exec(line) ?? [],
      )
      .filter((_, n) => n % 3 > 0);
    expect(page).toEqual(
      OTHER_VERSIONS.flatMap(({ installed, entry, refused }) => [
        installed,
        refused ? `installs; \`nestjs-durable-saga/${entry}\` says what is missing` : 'installs and imports',
      ]),
    );
  });
});

/** What the first table of the page has about a package. */
function supported(name: string): string | undefined {
  const called = name === 'typeorm' ? 'TypeORM' : `\`${name}\``;
  return read('docs/compatibility.md')
    .split('\n')
    .find((line) => line.startsWith('|') && line.split('|')[1]!.includes(called));
}

function lineOf({ name, set, node, postgres, format, build, program = 'main', between }: Row): string {
  const { typeorm = 'none', ...versions } = SETS[set]!;
  const cells = [versions['@nestjs/core'], typeorm, NODES[node], postgres];
  const what = `${format === 'module' ? 'ES module' : 'CommonJS'}, ${build}`;
  return `| \`${name}\` | ${cells.join(' | ')} | ${what} | ${program}${between ? ` (${between})` : ''} |`;
}
