import { NextResponse } from 'next/server';

export function html(page: string, { status = 200, headers = {} }: ResponseInit = {}): NextResponse {
  return new NextResponse(page, {
    status,
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}
