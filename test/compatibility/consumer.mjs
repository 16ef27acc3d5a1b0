import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generatePrismaClient } from './prisma-client.mjs';

const PROGRAM = fileURLToPath(new URL('./program', import.meta.url));

/**
 * The compilerOptions that `nest new` writes, as far as they matter here. The library's own types are checked, too, unless
 * the row skips that.
 */
const OPTIONS = {
  target: 'ES2023',
  types: ['node'],
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  esModuleInterop: true,
  rootDir: 'src',
  outDir: 'dist',
};

/**
 * A project of a consumer, with the programs as its source and the packages of an installation.
 * @param {string} installation
 * @param {import('./rows.mjs').Row} row
 * @param {Record<string, string>} versions that are installed
 * @param {readonly string[]} programs that are compiled
 * @returns {Promise<string>} its folder
 */
export async function consumerProject(installation, row, versions, programs) {
  const { name, format, skipLibCheck = false } = row;
  const folder = join(installation, `consumer-${name}`);
  await mkdir(folder, { recursive: true });
  await symlink(join(installation, 'node_modules'), join(folder, 'node_modules'), 'junction');
  await cp(PROGRAM, join(folder, 'src'), { recursive: true });
  if (format === 'commonjs') await importWithoutExtensions(join(folder, 'src'));
  if (versions['@prisma/client']) await generatePrismaClient(folder, format);
  const write = (file, content) => writeFile(join(folder, file), JSON.stringify(content, undefined, 2));
  await write('package.json', { private: true, type: format });
  await write('tsconfig.json', {
    compilerOptions: { ...OPTIONS, skipLibCheck, ...moduleOptions(row, versions) },
    files: programs.map((program) => `src/${program}.ts`),
  });
  await write('nest-cli.json', { sourceRoot: 'src', entryFile: programs[0] });
  return folder;
}

/**
 * How imports are looked up: as `nest new` of Nest 11 began (`node10` follows from its `module`), which most applications
 * still have; as bundlers do, where one follows; otherwise as Node does.
 */
function moduleOptions({ format, build }, versions) {
  if (format === 'module')
    return build === 'esbuild' ? { module: 'ESNext', moduleResolution: 'Bundler' } : { module: 'NodeNext' };
  if (versions['@nestjs/core'].startsWith('11.')) return { module: 'commonjs', moduleResolution: 'node10' };
  return { module: 'NodeNext' };
}

/** As CommonJS projects write their imports. */
async function importWithoutExtensions(folder) {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const source = await readFile(file, 'utf8');
    await writeFile(file, source.replace(/(from|import) '(\.\/[^']*)\.js'/g, "$1 '$2'"));
  }
}
