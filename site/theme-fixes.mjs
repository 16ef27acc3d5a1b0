/**
 * Makes VitePress's default theme accessible: each entry replaces a text in the source of one of its components. A text
 * that is absent fails the build: see then whether the new version of VitePress still needs the entry.
 */
const FIXES = {
  'VPHome.vue': [
    ['<template>\n  <div \n    class="VPHome"', '<template>\n  <main\n    class="VPHome"'],
    ['  </div>\n</template>', '  </main>\n</template>'],
  ],
  // The name of the button is "Search"; style.css shows its key.
  'VPNavBarSearchButton.vue': [
    ['<kbd class="DocSearch-Button-Key">K</kbd>', '<kbd class="DocSearch-Button-Key" data-key="K" />'],
  ],
  // A group with pages is one button, not a button in a button; a group that cannot collapse is none.
  'VPSidebarItem.vue': [
    [
      ':role="itemRole"',
      ':role="collapsible ? itemRole : undefined"\n      :aria-expanded="collapsible && !isLink ? !collapsed : undefined"',
    ],
    [':tabindex="item.items && 0"', ':tabindex="collapsible && !isLink ? 0 : undefined"'],
    [
      'role="button"\n        aria-label="toggle section"',
      ':role="isLink ? \'button\' : undefined"\n        :aria-label="isLink ? `Pages of ${item.text}` : undefined"' +
        '\n        :aria-expanded="isLink ? !collapsed : undefined"',
    ],
    ['tabindex="0"\n      >\n        <span', ':tabindex="isLink ? 0 : undefined"\n      >\n        <span'],
  ],
};

export function themeFixes() {
  return {
    name: 'theme-fixes',
    enforce: 'pre',
    transform(code, id) {
      const [, name] = /\/theme-default\/components\/(\w+\.vue)$/.exec(id) ?? [];
      return FIXES[name]?.reduce((text, [before, after]) => {
        if (!text.includes(before)) throw new Error(`site/theme-fixes.mjs: ${name} has no ${before}`);
        return text.replace(before, () => after);
      }, code);
    },
  };
}
