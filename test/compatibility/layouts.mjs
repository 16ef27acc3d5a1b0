import { installedJest, jestInCommonJs } from './jest-commonjs.mjs';
import { installedPnpm, pnpm } from './pnpm.mjs';
import { installedWorkspaces, workspaces } from './workspaces.mjs';

const COMMON = { node: process.versions.node, postgres: 18, format: 'commonjs' };

/** Ways to lay out a project and its packages; what is tried in each is in docs/compatibility.md. */
export const LAYOUTS = [
  { ...COMMON, name: 'pnpm', build: 'pnpm', installed: installedPnpm, tried: pnpm },
  { ...COMMON, name: 'npm-workspaces', build: 'npm', installed: installedWorkspaces, tried: workspaces },
  { ...COMMON, name: 'nest11-jest', build: 'ts-jest', installed: installedJest, tried: jestInCommonJs },
];
