/**
 * For programs that are compiled together with the sources of the packages: node --import ./test/support/own-sources.mjs …
 * A package that is imported by its name is the copy among these sources, and not the built one.
 */
import { readFileSync } from 'node:fs';
import { register } from 'node:module';

const PATHS = JSON.parse(readFileSync(new URL('../../tsconfig.json', import.meta.url), 'utf8'))
  .compilerOptions.paths;

// This module is loaded a second time, as the hooks.
if (!import.meta.url.includes('?hooks')) register(`${import.meta.url}?hooks`);

export function resolve(name, context, next) {
  const root = PATHS[name] && /^(.*\/)(?:libs|test)\//.exec(context.parentURL)?.[1];
  return root
    ? next(new URL(PATHS[name][0].replace(/\.ts$/, '.js'), root).href, context)
    : next(name, context);
}
