/** What the functions use of Deno's globals, for editors and compilers that know Node only. */
declare const Deno: {
  serve(handler: (request: Request) => Response | Promise<Response>): unknown;
  readonly env: { get(name: string): string | undefined };
};
