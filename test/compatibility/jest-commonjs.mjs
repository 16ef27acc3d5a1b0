import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './commands.mjs';
import { installedVersions } from './installed-versions.mjs';
import { SETS } from './rows.mjs';

const SPEC = fileURLToPath(new URL('./jest/every-entry.ts', import.meta.url));

/** What `nest new` of Nest 11 installs for tests, beside all optional packages of the entry points. */
const PACKAGES = {
  ...SETS['nest11-lowest-entries'],
  ...{ '@nestjs/testing': '11.0.1', '@types/jest': '30.0.0', jest: '30.5.2', 'ts-jest': '29.4.15' },
};

/** As `nest new` of Nest 11 writes it. */
const JEST = {
  moduleFileExtensions: ['js', 'json', 'ts'],
  rootDir: 'src',
  testRegex: '.*\\.spec\\.ts$',
  transform: { '^.+\\.(t|j)s$': 'ts-jest' },
  testEnvironment: 'node',
};
const COMPILER = {
  ...{ module: 'commonjs', moduleResolution: 'node10', target: 'ES2023', esModuleInterop: true },
  ...{ experimentalDecorators: true, emitDecoratorMetadata: true, strict: true, skipLibCheck: true },
};

export function installedJest(installations) {
  return installations.ofSet('nest11-jest', PACKAGES);
}

/** Every entry point and the dashboard in Jest of a CommonJS project, as `saga init` sets Jest up. */
export async function jestInCommonJs({ installations, servers }) {
  const folder = await installedJest(installations);
  await mkdir(join(folder, 'src'));
  await copyFile(SPEC, join(folder, 'src/every-entry.spec.ts'));
  await writeFile(join(folder, 'src/main.ts'), '');
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ ...manifest, jest: JEST }));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER }));
  const call = (file, parameters, env) =>
    run(process.execPath, [join('node_modules', file), ...parameters], { cwd: folder, env });
  await call('nestjs-durable-saga-cli/dist/saga.js', ['init']);
  const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: await servers.database(18) };
  await call('jest/bin/jest.js', ['every-entry'], env);
  return installedVersions(folder);
}
