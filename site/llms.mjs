/** llms.txt, llms-full.txt and the Markdown of each page, beside the pages: https://llmstxt.org. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GROUPS, PAGES, siteOf } from './navigation.mjs';

export function writeLlms(root, outDir, about) {
  const texts = new Map(
    ['README.md', ...PAGES].map((file) => [file, readFileSync(join(root, file), 'utf8')]),
  );
  for (const [file, text] of texts) write(join(outDir, siteOf(file)), text);
  write(join(outDir, 'llms.txt'), llmsIndex(root, about));
  const all = [...texts].map(
    ([file, text]) => `<!-- ${about.address}${siteOf(file)} -->\n\n${text.trim()}\n`,
  );
  write(join(outDir, 'llms-full.txt'), all.join('\n---\n\n'));
}

/** llms.txt: each page with its address and its first sentence, without those that are generated and not there. */
export function llmsIndex(root, { title, description, address }) {
  const groups = GROUPS.map(([name, entries]) => {
    const lines = entries
      .filter(([, file]) => existsSync(join(root, file)))
      .map(
        ([text, file]) =>
          `- [${text}](${address}${siteOf(file)}): ${summaryOf(readFileSync(join(root, file), 'utf8'))}`,
      );
    return `## ${name}\n\n${lines.join('\n')}\n`;
  });
  return [`# ${title}\n`, `> ${description}\n`, ...groups].join('\n');
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** The first sentence of a page, as text. */
function summaryOf(text) {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  const paragraph = prose.split('\n\n').find((block) => /^[^#|*\-\s<[]/.test(block.trim())) ?? '';
  const [sentence] = paragraph
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('\n', ' ')
    .split(/(?<=[.:]) /);
  return sentence.trim();
}
