import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './commands.mjs';

/**
 * How a consumer is built; each gives the file to run. `node` is the one that runs it, not the one that builds it: tools ask
 * for a newer one than the library does.
 * @type {Record<string, (project: string, row: import('./rows.mjs').Row, node: string) => Promise<string>>}
 */
export const BUILDS = {
  tsc,
  'tsc-7': (project, row) => tsc(project, row, undefined, 'typescript-7'),
  'nest-swc': (project, row, node) => nest(project, row, node, ['--builder', 'swc']),
  'nest-webpack': (project, row, node) => nest(project, row, node, ['--webpack']),
  /** Bundled from what tsc made: esbuild emits no decorator metadata. What is in node_modules stays there. */
  async esbuild(project, row, node) {
    const compiled = await tsc(project, row, node);
    return esbuild(project, row, compiled);
  },
  /** From the sources, with explicit `@Inject()` in place of metadata. */
  'esbuild-alone': (project, row) => esbuild(project, row, join('src', `${row.program}.ts`)),
};

async function tsc(project, { program = 'main' }, _node, compiler = 'typescript') {
  await run(process.execPath, [join(project, 'node_modules', compiler, 'bin/tsc'), '-p', '.'], {
    cwd: project,
  });
  return join(project, 'dist', `${program}.js`);
}

async function nest(project, { program = 'main' }, node, options) {
  const cli = join(project, 'node_modules/@nestjs/cli/bin/nest.js');
  await run(node, [cli, 'build', ...options], { cwd: project });
  return join(project, 'dist', `${program}.js`);
}

async function esbuild(project, { format }, entry) {
  const file = join(project, 'bundle', 'main.js');
  const options = ['--bundle', '--platform=node', '--packages=external', '--target=node20', '--keep-names'];
  const shape = format === 'module' ? 'esm' : 'cjs';
  await run(
    join(project, 'node_modules/.bin/esbuild'),
    [entry, ...options, `--format=${shape}`, `--outfile=${file}`],
    {
      cwd: project,
    },
  );
  // Nothing is left of what it was bundled from.
  await rename(join(project, 'dist'), join(project, 'dist-before-bundling')).catch(() => undefined);
  return file;
}
