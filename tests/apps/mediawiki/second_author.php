<?php
// Bob adds a line to 60 pages. Each of his edits can be rolled back by a link with a token in it.
require_once getenv( 'PIEME_WIKI' ) . '/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class SecondAuthor extends Maintenance {
	public function execute() {
		$bob = User::createNew( 'Bob' );
		$pages = MediaWikiServices::getInstance()->getWikiPageFactory();
		$ids = wfGetDB( DB_REPLICA )->selectFieldValues( 'page', 'page_id', [], __METHOD__, [ 'LIMIT' => 60 ] );
		foreach ( $ids as $id ) {
			$page = $pages->newFromID( $id );
			$text = $page->getContent()->getText() . "\nBob was here.";
			$page->doUserEditContent( new WikitextContent( $text ), $bob, 'A second line' );
		}
	}
}

$maintClass = SecondAuthor::class;
require_once RUN_MAINTENANCE_IF_MAIN;
