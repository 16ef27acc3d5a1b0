import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findBrowser } from './find-browser.js';

const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'];
export const DESKTOP = { viewport: { width: 1280, height: 860 } };
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

/** Tests in a real browser, or one line that says that there are none. */
export const inBrowser: typeof describe = findBrowser()
  ? describe
  : Object.assign(
      (name: string) =>
        describe.skip(`${name}: SKIPPED, no Chromium was found. Give its path in CHROMIUM_PATH`, () =>
          test('opens', () => undefined)),
      describe,
    );

/** A page of the dashboard, with all that went wrong in it. */
export interface OpenPage {
  readonly page: Page;
  /** Errors of scripts and of the content security policy, and requests to elsewhere. */
  readonly wrongs: readonly string[];
}

/** The browser of a spec file. Each test's pages are closed after it. */
export class TestBrowser {
  private browser!: Browser;

  /** To be called in a `describe` of inBrowser. */
  static open(): TestBrowser {
    const browser = new TestBrowser();
    beforeAll(async () => {
      browser.browser = await chromium.launch({ executablePath: findBrowser(), args: ARGUMENTS });
    });
    afterEach(() => Promise.all(browser.browser.contexts().map((context) => context.close())));
    afterAll(() => browser.browser.close());
    return browser;
  }

  async visit(url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
    const context = await this.browser.newContext({ ...DESKTOP, locale: 'en-GB', ...options });
    const page = await context.newPage();
    const wrongs: string[] = [];
    const { origin } = new URL(url);
    page.on('pageerror', (error) => wrongs.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of (403|404|409|4\d\d)/.test(message.text()))
        wrongs.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) wrongs.push(request.url());
    });
    await page.goto(url);
    return { page, wrongs };
  }
}
