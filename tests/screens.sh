#!/usr/bin/env bash
# Takes screenshots of every page of the dashboard, wide and on a phone, light and dark, into
# docs/screens/.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf docs/screens
PIEME_SCREENS=docs/screens cargo test --test it -- --exact \
  web::looks::no_page_has_a_serious_fault_for_a_screen_reader_or_needs_sideways_scrolling
# Few colours are enough, and a repository keeps every version for ever.
command -v pngquant >/dev/null || apt-get install -y -qq --no-install-recommends pngquant
pngquant --force --ext .png --skip-if-larger --strip 32 docs/screens/*.png || [ $? -eq 98 ]
