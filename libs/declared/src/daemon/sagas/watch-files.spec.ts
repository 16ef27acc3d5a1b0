import { until } from '../../../../../test/support/gate.js';
import { watchFiles } from './watch-files.js';

test('a file that is being written is used once it has stayed the same between two looks', async () => {
  const looks = ['first', 'half', 'half more', 'whole', 'whole', 'whole', 'whole'];
  const changed: string[] = [];
  const read = async () => looks.shift();
  const stop = watchFiles('first', read, () => changed.push(looks.join()));
  await until(() => looks.length === 0);
  stop();
  expect(changed).toEqual(['whole,whole']);
});
