import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { run } from './commands.mjs';
import { installedVersions } from './installed-versions.mjs';
import { SETS } from './rows.mjs';

const PROGRAM = fileURLToPath(new URL('../packaging/consumer/main.ts', import.meta.url));
const NEEDED = ['@nestjs/common', '@nestjs/core', '@nestjs/typeorm', 'pg', 'reflect-metadata', 'rxjs'];
const ENDED = { status: 'completed', confirm: 'confirmed book' };
const WORKSPACES = [
  { name: 'eleven', set: 'nest11', type: 'commonjs' },
  { name: 'twelve', set: 'nest12', type: 'module' },
];

/**
 * Nest 11 in one workspace, Nest 12 in another, both with the package. npm's default strategy gives both the
 * copy at the
 * root, whose imports find one of the two versions; the documented setting gives each workspace a copy of its
 * own.
 */
export async function workspaces({ installations, servers }) {
  const folder = await installedWorkspaces(installations);
  for (const workspace of WORKSPACES) await runsIn(join(folder, workspace.name), workspace, servers);
  return installedVersions(join(folder, 'eleven'));
}

export function installedWorkspaces(installations) {
  const manifests = WORKSPACES.map(manifestOf);
  return installations.ofWorkspaces('npm-workspaces', manifests, 'install-strategy=nested\n');
}

/** Both have the same version of TypeORM: that alone would not need two copies. */
function manifestOf({ name, set, type }) {
  const versions = Object.fromEntries(NEEDED.map((each) => [each, SETS[set][each]]));
  return { name, type, private: true, dependencies: { ...versions, typeorm: SETS.nest12.typeorm } };
}

async function runsIn(folder, { name, set, type }, servers) {
  const library = join(folder, 'node_modules/nestjs-durable-saga');
  const { '@nestjs/core': found } = await installedVersions(library, ['@nestjs/core']);
  if (found !== SETS[set]['@nestjs/core'])
    throw new Error(`The package in the workspace ${name} imports Nest ${found}`);
  await mkdir(join(folder, 'dist'));
  await writeFile(join(folder, 'dist/main.js'), compiled(await readFile(PROGRAM, 'utf8'), type));
  const env = { ...process.env, DATABASE_URL: await servers.database(18) };
  const said = (await run(process.execPath, ['dist/main.js'], { cwd: folder, env })).trim();
  if (said !== JSON.stringify(ENDED)) throw new Error(`The workspace ${name} said ${said}`);
}

function compiled(source, type) {
  const module = type === 'module' ? ts.ModuleKind.ESNext : ts.ModuleKind.CommonJS;
  const decorators = { experimentalDecorators: true, emitDecoratorMetadata: true };
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module, esModuleInterop: true, ...decorators };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}
