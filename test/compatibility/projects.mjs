import { join } from 'node:path';
import { BUILDS } from './builds.mjs';
import { consumerProject } from './consumer.mjs';
import { ROWS, SETS } from './rows.mjs';

/**
 * Consumers' projects with their programs. Rows that tsc builds of the same set in the same format differ only in what they
 * run, and on which Node and server: they share a project, which is compiled once.
 */
export class Projects {
  #compiled = new Map();

  /**
   * @param {import('./rows.mjs').Row} row
   * @param {string} installation
   * @param {string} node that runs the program
   * @returns {Promise<{ project: string, file: string }>} the folder, and the file to run
   */
  async built(row, installation, node) {
    if (row.build === 'tsc') {
      const project = await this.#shared(row, installation, node);
      return { project, file: join(project, 'dist', `${programOf(row)}.js`) };
    }
    const project = await consumerProject(installation, row, SETS[row.set], [programOf(row)]);
    return { project, file: await BUILDS[row.build](project, row, node) };
  }

  #shared(row, installation, node) {
    const isAlike = ({ set, format, build }) => set === row.set && format === row.format && build === 'tsc';
    const key = `${row.set} ${row.format}`;
    const compiled = this.#compiled.get(key) ?? this.#compile(row, ROWS.filter(isAlike), installation, node);
    this.#compiled.set(key, compiled);
    return compiled;
  }

  async #compile(row, alike, installation, node) {
    const programs = [...new Set(alike.map(programOf))];
    const project = await consumerProject(installation, row, SETS[row.set], programs);
    await BUILDS.tsc(project, row, node);
    return project;
  }
}

function programOf({ program = 'main' }) {
  return program;
}
