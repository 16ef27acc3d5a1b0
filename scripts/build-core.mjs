/**
 * Builds the core. Nest's command line compiles `src` to `dist/modules`, with TypeScript 6: its declarations are what the
 * reports of the public API show. These modules are bundled to `dist`: one file for each entry and for each room or folder of a
 * room. The package is half as large by it, and an application loads it in half of the time. Names and lines stay, so that a
 * stack trace says in which room and in which function. Declarations that no entry reaches are left out.
 */
import { spawnSync } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import { minify } from 'terser';
import { FOLDERS } from '../rooms.mjs';

const LIBRARY = fileURLToPath(new URL('../libs/saga/', import.meta.url));
const DIST = join(LIBRARY, 'dist');
const COMPILED = join(DIST, 'modules');

const { exports } = JSON.parse(await readFile(join(LIBRARY, 'package.json'), 'utf8'));
const entries = [
  ...Object.values(exports).flatMap(({ default: file = '' }) => /^\.\/dist\/(.*)\.js$/.exec(file)?.[1] ?? []),
  // The schematic that nest-add.json names.
  'nest-add',
];
/** TypeScript's helpers of decorators look for others at `this`. Some rooms have no declarations that an entry reaches. */
const HARMLESS = new Set(['THIS_IS_UNDEFINED', 'EMPTY_BUNDLE']);
/** CommonJS stays as it is: it loads a package when it is called, and a file by its place. */
const commonJs = new Set();
/** Whether files need pg. */
const needing = new Map();

const nest = join(LIBRARY, '../../node_modules/@nestjs/cli/bin/nest.js');
const options = { cwd: join(LIBRARY, '../..'), stdio: 'inherit' };
const { status, error } = spawnSync(process.execPath, [nest, 'build', 'saga'], options);
if (error) throw error;
if (status !== 0) process.exit(status ?? 1);
for (const name of await readdir(DIST))
  if (name !== 'modules') await rm(join(DIST, name), { recursive: true });
const format = { ecma: 2020, max_line_len: 160 };
await bundle('.js', [
  {
    name: 'without-indentation',
    renderChunk: (code) => minify(code, { compress: false, mangle: false, format }),
  },
]);
await bundle('.d.ts', [
  dts(),
  { name: 'as-in-the-sources', renderChunk: withTypesNamed },
  { name: 'without-private-docs', renderChunk: withoutPrivateDocs },
  { name: 'indented-as-the-sources', renderChunk: (code) => code.replaceAll(/^( {4})+/gm, half) },
  { name: 'without-packages', renderChunk: uncheckedPackages },
]);
for (const file of commonJs) {
  await mkdir(dirname(join(DIST, file)), { recursive: true });
  await copyFile(join(COMPILED, file), join(DIST, file));
}

async function bundle(ending, plugins) {
  const input = Object.fromEntries(entries.map((entry) => [entry, join(COMPILED, `${entry}${ending}`)]));
  const files = new Set(Object.values(input));
  const bundled = await rollup({
    input,
    plugins,
    external: (id, importer) => {
      if (id.endsWith('.cjs') && id.startsWith('.'))
        commonJs.add(relative(COMPILED, join(dirname(importer), id)));
      return id.endsWith('.cjs') || !/^[./]/.test(id);
    },
    onLog: (_, log, handle) => {
      if (!HARMLESS.has(log.code)) handle('error', log);
    },
  });
  await bundled.write({
    dir: DIST,
    entryFileNames: `[name]${ending}`,
    chunkFileNames: `[name]${ending}`,
    manualChunks: (id, { getModuleInfo }) =>
      files.has(id) || !id.startsWith(COMPILED)
        ? undefined
        : `${roomOf(id)}${ending === '.js' && needsPg(id, getModuleInfo) ? '/with-pg' : ''}`,
    onlyExplicitManualChunks: true,
    hoistTransitiveImports: false,
    minifyInternalExports: false,
  });
}

/** Whether a file imports pg, or a file that does. The command line answers, and sets an application up, where there is none. */
function needsPg(id, getModuleInfo) {
  if (!needing.has(id))
    needing.set(
      id,
      getModuleInfo(id).importedIds.some((one) => one === 'pg' || needsPg(one, getModuleInfo)),
    );
  return needing.get(id);
}

/** The room of a file, or its folder of a room: `errors`, `nest`, `engine/run`. */
function roomOf(file) {
  const [room, folder] = relative(COMPILED, file).split('/');
  return room in FOLDERS && !folder.includes('.') ? `${room}/${folder}` : room.replace(/\..*/, '');
}

/**
 * Every application reads the declarations that entries share, also one without TypeORM or without the types of pg, and it may
 * check them all. The entries of database layers have checked imports of their own.
 */
function uncheckedPackages(code, { isEntry }) {
  if (isEntry) return code;
  const ignored = '// @ts-ignore If the package is not installed, its types are `any`.';
  return code.replaceAll(/^import .* from '(typeorm|pg)';$/gm, `${ignored}\n$&`);
}

/** What an entry says of others for TypeScript alone, so that it finds names for their types, is nothing to a bundler. */
async function withTypesNamed(code, { facadeModuleId }) {
  const source = facadeModuleId ? await readFile(facadeModuleId, 'utf8') : '';
  return [...(source.match(/^export type \{\} from '.*';$/gm) ?? []), code].join('\n');
}

/** TypeScript indents by four. */
function half(spaces) {
  return spaces.slice(spaces.length / 2);
}

/** TypeScript wants the names of private members, and no reader what they are for. */
function withoutPrivateDocs(code) {
  return code.replaceAll(/[ \t]*\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=[ \t]*private )/g, '');
}
