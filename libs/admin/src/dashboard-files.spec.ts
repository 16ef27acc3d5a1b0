import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DashboardFiles } from './dashboard-files.js';

const FOLDER = fileURLToPath(new URL('dashboard/', import.meta.url));
const files = new DashboardFiles();
const page = files.index('');

/** The files that elements of the page load, in their order. */
function loaded(attribute: 'href' | 'src'): string[] {
  const address = new RegExp(` ${attribute}="assets/${files.version}/([^"]+)"`, 'g');
  return [...page.matchAll(address)].map(([, name]) => name!);
}

describe('the files of the dashboard', () => {
  const links = [...page.matchAll(/ rel="stylesheet" href="assets\/[^/]+\/([^"]+)"/g)];
  const styles = links.map(([, name]) => name!);

  test('the page loads each of its style sheets once, and no other', () => {
    expect([...styles].sort()).toEqual(readdirSync(FOLDER).filter((name) => name.endsWith('.css')));
  });

  test('the page begins with the colours, and ends with what overrides the other style sheets', () => {
    expect([styles.at(0), styles.at(-1)]).toEqual(['base.css', 'media.css']);
    const isOverriding = (name: string) =>
      readFileSync(`${FOLDER}${name}`, 'utf8').includes('@media (max-width');
    expect(styles.filter(isOverriding)).toEqual(['media.css']);
  });

  test('what the page loads is served, under an address that changes with its content', () => {
    const names = [...loaded('href'), ...loaded('src')];
    expect(names).toEqual(expect.arrayContaining(['icon.svg', 'app.js', 'base.css']));
    for (const name of names)
      expect(files.file(name)!.content.equals(readFileSync(`${FOLDER}${name}`))).toBe(true);
    expect(files.version).toMatch(/^[0-9a-f]{16}$/);
  });

  test('each has fewer than 400 lines', () => {
    const lines = (name: string) => readFileSync(`${FOLDER}${name}`, 'utf8').split('\n').length;
    expect(readdirSync(FOLDER).filter((name) => lines(name) >= 400)).toEqual([]);
  });
});
