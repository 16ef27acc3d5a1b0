import { run } from './commands.mjs';
import { INSTALL } from './installation.mjs';
import { installedVersions } from './installed-versions.mjs';
import { SETS } from './rows.mjs';

const NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
const OPTIONS = [...INSTALL, '--ignore-scripts'];

/**
 * Versions that an application may have, and that stop no installation of the library. docs/compatibility.md shows them.
 *
 * @type {readonly { installed: string, with?: readonly string[], entry?: string, call?: string, refused?: RegExp }[]}
 * `installed` is the package; `with` is what belongs to it; `entry` is the entry of the core that takes it; `call` is
 * the function of the entry that loads it; `refused` is what the entry says of it, if it is too old.
 */
export const OTHER_VERSIONS = [
  { installed: 'drizzle-orm@0.36.0', entry: 'drizzle' },
  { installed: 'drizzle-orm@0.44.7', entry: 'drizzle' },
  { installed: 'drizzle-orm@1.0.0-beta.1', entry: 'drizzle' },
  { installed: 'kysely@0.27.6', entry: 'kysely' },
  { installed: 'knex@2.5.1', entry: 'knex' },
  { installed: '@mikro-orm/postgresql@6.4.16', with: ['@mikro-orm/core@6.4.16'], entry: 'mikro-orm' },
  {
    ...{ installed: '@mikro-orm/postgresql@7.1.15', with: ['@mikro-orm/core@7.1.15'], entry: 'mikro-orm' },
    refused:
      /is version 7\.1\.15, which does not have .*getNativeClient\(\), new in 7\.2\.0\. Run npm install/,
  },
  { installed: '@prisma/adapter-pg@7.9.1', entry: 'prisma' },
  {
    ...{ installed: '@prisma/adapter-pg@6.19.3', entry: 'prisma' },
    refused: /is version 6\.19\.3, .* Run npm install @prisma\/adapter-pg@\^7/,
  },
  {
    ...{ installed: 'typeorm@0.3.17', with: ['@nestjs/typeorm@11.0.0'] },
    ...{ entry: 'database', call: 'sagaEntities()' },
  },
  {
    ...{ installed: 'typeorm@0.3.12', with: ['@nestjs/typeorm@11.0.0'] },
    ...{ entry: 'database', call: 'sagaEntities()' },
    refused: /is version 0\.3\.12, .* Run npm install typeorm@\^0\.3\.17/,
  },
  ...[
    ...['ajv@6.12.6', 'undici@6.21.1', 'yaml@1.10.2', 'jsonata@1.8.7', '@opentelemetry/sdk-metrics@1.30.1'],
    ...['class-validator@0.13.2', 'class-transformer@0.4.1', 'reflect-metadata@0.1.13'],
  ].map((installed) => ({ installed })),
];

const COMMON = { node: process.versions.node, postgres: 18, format: 'module', build: 'npm' };

/** Installs the library into an application that has another version of a package, and imports the entry that takes it. */
export const BESIDE_OTHERS = OTHER_VERSIONS.map((version) => ({
  ...COMMON,
  name: `beside-${version.installed}`,
  installed: (installations) => applicationWith(version, installations),
  tried: ({ installations }) => tryBeside(version, installations),
}));

function applicationWith({ installed, with: others = [] }, installations) {
  const packages = [...NEST.map((name) => `${name}@${SETS.nest11[name]}`), ...others, installed];
  const dependencies = Object.fromEntries(packages.map(nameAndVersion));
  return installations.of(`beside-${installed.replaceAll('/', '-')}`, dependencies);
}

/** As the pages say: the core by itself, and then the other packages, which are resolved only. */
async function tryBeside(version, installations) {
  const folder = await applicationWith(version, installations);
  const { 'nestjs-durable-saga': core, ...others } = installations.packages;
  await run('npm', [...OPTIONS, core], { cwd: folder });
  await importEntry(folder, version);
  await run('npm', [...OPTIONS, '--package-lock-only', core, ...Object.values(others)], { cwd: folder });
  const [name, wanted] = nameAndVersion(version.installed);
  const versions = await installedVersions(folder, ['@nestjs/core', 'pg', name]);
  if (versions[name] !== wanted) throw new Error(`npm replaced ${version.installed} by ${versions[name]}`);
  return versions;
}

async function importEntry(folder, { entry, call, refused }) {
  const specifier = ['nestjs-durable-saga', ...(entry ? [entry] : [])].join('/');
  const program = `import * as entry from '${specifier}';${call ? ` entry.${call};` : ''}`;
  const imported = run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
  if (!refused) return imported;
  const message = await imported.then(
    () => 'no error',
    (error) => error.message,
  );
  if (!refused.test(message))
    throw new Error(`Expected ${specifier} to say ${refused}, and it said ${message}`);
}

/** @returns {[name: string, version: string]} */
function nameAndVersion(installed) {
  const at = installed.lastIndexOf('@');
  return [installed.slice(0, at), installed.slice(at + 1)];
}
