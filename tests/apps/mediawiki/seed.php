<?php
// Writes 320 pages. With the main page, the wiki has 321; no two are equally long.
require_once getenv( 'PIEME_WIKI' ) . '/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class SeedPages extends Maintenance {
	private const KINDS = [ 'Lighthouse', 'Harbour', 'Island', 'Ferry', 'Museum', 'Bridge' ];
	private const PLACES = [ 'Alder', 'Birch', 'Corran', 'Dunmore', 'Elgin', 'Farrow', 'Gairn', 'Holm', 'Inver', 'Jura' ];

	public function execute() {
		$author = User::newFromName( 'WikiAdmin' );
		$pages = MediaWikiServices::getInstance()->getWikiPageFactory();
		foreach ( range( 1, 320 ) as $number ) {
			$kind = self::KINDS[$number % 6];
			$name = self::PLACES[$number * 7 % 10] . " $kind " . sprintf( '%03d', $number );
			$text = "'''$name''' is open. " . str_repeat( 'Tide. ', $number ) . "\n\n[[Category:$kind]]";
			$page = $pages->newFromTitle( Title::newFromText( $name ) );
			$page->doUserEditContent( new WikitextContent( $text ), $author, 'A new page' );
		}
	}
}

$maintClass = SeedPages::class;
require_once RUN_MAINTENANCE_IF_MAIN;
