/** llms.txt, llms-full.txt and the Markdown of each page, beside the pages: https://llmstxt.org. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GROUPS, PAGES, siteOf } from './navigation.mjs';

export function writeLlms(root, outDir, { title, description, address }) {
  const pages = ['README.md', ...PAGES];
  const texts = new Map(pages.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  for (const [file, text] of texts) write(join(outDir, siteOf(file)), text);
  const groups = GROUPS.map(
    ([name, entries]) =>
      `## ${name}\n\n${entries
        .map(([text, file]) => `- [${text}](${address}${siteOf(file)}): ${summaryOf(texts.get(file))}`)
        .join('\n')}\n`,
  );
  write(join(outDir, 'llms.txt'), [`# ${title}\n`, `> ${description}\n`, ...groups].join('\n'));
  const all = [...texts].map(([file, text]) => `<!-- ${address}${siteOf(file)} -->\n\n${text.trim()}\n`);
  write(join(outDir, 'llms-full.txt'), all.join('\n---\n\n'));
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
