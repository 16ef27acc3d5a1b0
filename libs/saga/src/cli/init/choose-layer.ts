import { nearestName } from '../../shared/nearest-name.js';
import type { Terminal } from '../terminal.js';
import { type Layer, LAYERS, layersOf } from './layers.js';
import type { NestApp } from './nest-app.js';
import { UsageError } from '../command.js';

/**
 * Returns the database layer of the sagas: the one that was given, or the one that the application uses. If it uses
 * several, the operator is asked.
 * @throws UsageError for an unknown layer, or for several without a terminal to ask in
 */
export async function chooseLayer(
  app: NestApp,
  given: string | undefined,
  terminal: Terminal,
): Promise<Layer> {
  if (given !== undefined)
    return layerNamed(given, LAYERS) ?? refuse(`--orm '${given}' is not a database layer`, LAYERS);
  const used = layersOf(app);
  if (used.length === 1) return used[0]!;
  const several = 'package.json has several database layers.';
  if (!terminal.interactive)
    throw new UsageError(
      `${several} Give the one that sagas are to use: ${used.map(({ name }) => `--orm ${name}`).join(' or ')}`,
    );
  const answer = (await terminal.ask(`${several} Which one are sagas to use: ${listed(used)}? `)).trim();
  return layerNamed(answer, used) ?? refuse(`'${answer}' is not a database layer of this application`, used);
}

const layerNamed = (name: string, among: readonly Layer[]) => among.find((one) => one.name === name);

function refuse(problem: string, among: readonly Layer[]): never {
  const [, name = ''] = /'(.*)'/.exec(problem) ?? [];
  const nearest = nearestName(
    name,
    among.map((one) => one.name),
  );
  const meant = nearest === undefined ? '' : `. Did you mean '${nearest}'?`;
  throw new UsageError(`${problem}; give ${listed(among)}${meant}`);
}

/** `typeorm, drizzle or pg` */
function listed(layers: readonly Layer[]): string {
  const names = layers.map(({ name }) => name);
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
